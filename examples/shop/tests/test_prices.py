import unittest

from shop.prices import total


class Prices(unittest.TestCase):
    def test_an_order_costs_what_its_lines_cost(self) -> None:
        self.assertEqual(total([(250, 2), (100, 1)]), 600)
