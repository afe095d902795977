import unittest

from prices import total


class Total(unittest.TestCase):
    def test_without_a_discount_it_is_the_sum(self):
        self.assertEqual(total([250, 150]), 400)

    def test_a_discount_is_in_percent(self):
        self.assertEqual(total([250, 150], percent_off=25), 300)


if __name__ == "__main__":
    unittest.main()
