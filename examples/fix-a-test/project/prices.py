def total(prices, percent_off=0):
    """The sum of some prices in cents, less a discount, rounded down to whole cents."""
    return sum(prices) * (1 - percent_off) // 1
