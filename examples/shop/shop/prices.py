"""What an order costs, in cents."""


def total(lines: list[tuple[int, int]]) -> int:
    """The sum of price times count."""
    return sum(price * count for price, count in lines)
