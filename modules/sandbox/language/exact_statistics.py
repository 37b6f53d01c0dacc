"""`statistics` for plans: exact where Python's own module is exact, with the same last digit.

Sums are made of fractions, which the interpreter lacks: pairs of integers here. What Python itself
rounds on the way (weights, covariances, regression) is rounded alike, as in Python 3.11.
"""

STATISTICS = '''
    import math, collections, decimal
    class statistics:
        pass
    LinearRegression = collections.namedtuple("LinearRegression", ["slope", "intercept"])

    def numbers(data, least, name):
        values = list(data)
        if len(values) < least:
            least = {1: "one data point", 2: "two data points"}[least]
            raise ValueError(f"{name} requires at least {least}")
        for value in values:
            if not isinstance(value, (int, float)) and type(value) is not decimal.Decimal:
                raise TypeError(f"{name} takes numbers, not {value!r}")
        kinds = [type(value) for value in values]
        if float in kinds and decimal.Decimal in kinds:
            raise TypeError("don't know how to coerce float and Decimal")
        return values

    def pair(value):
        """A number as numerator and denominator."""
        if isinstance(value, int):
            return int(value), 1
        return decimal.Decimal(value).as_integer_ratio()

    def is_finite(values):
        return all([isinstance(v, int) or v - v == 0 for v in values])

    def exact_sum(pairs):
        """The sum of fractions, as a numerator and a denominator."""
        by_denominator = {}
        for n, d in pairs:
            by_denominator[d] = by_denominator.get(d, 0) + n
        whole, common = 0, 1
        for d, n in by_denominator.items():
            shared = math.gcd(common, d)
            whole, common = whole * (d // shared) + n * (common // shared), common // shared * d
        return whole, common

    def as_number(n, d, values):
        """A fraction as the kind of number that the values are."""
        for value in values:
            if type(value) is decimal.Decimal:
                return decimal.Decimal(n) / decimal.Decimal(d)
            if isinstance(value, float):
                return n / d
        return n // d if n % d == 0 else n / d

    def sum_of_squares(values, centre):
        """The squares of the distances from the centre, or else from the mean, as a fraction."""
        if centre is not None:
            return exact_sum([pair((v - centre) * (v - centre)) for v in values])
        pairs = [pair(v) for v in values]
        n, d = exact_sum(pairs)
        squares_n, squares_d = exact_sum([(a * a, b * b) for a, b in pairs])
        count = len(values)
        return count * squares_n * d * d - n * n * squares_d, count * squares_d * d * d

    def spread(values, centre, count):
        """A variance, as a fraction."""
        n, d = sum_of_squares(values, centre)
        shared = math.gcd(n, d * count)
        return n // shared, d * count // shared

    def bits(n):
        return len(bin(n)) - 2

    def root(n, d, values):
        """The square root of a fraction, correctly rounded."""
        for value in values:
            if type(value) is decimal.Decimal:
                return (decimal.Decimal(n) / decimal.Decimal(d)).sqrt()
        if n == 0:
            return 0.0
        shift = (bits(n) - bits(d) - 109) // 2
        if shift >= 0:
            d = d << 2 * shift
        else:
            n = n << -2 * shift
        whole = math.isqrt(n // d)
        whole = whole | (whole * whole * d != n)
        return float(whole << shift) if shift >= 0 else whole / (1 << -shift)

    def mean(data):
        values = numbers(data, 1, "mean")
        if not is_finite(values):
            return sum(values) / len(values)
        n, d = exact_sum([pair(value) for value in values])
        return as_number(n, d * len(values), values)

    def fmean(data, weights=None):
        values = [float(value) for value in numbers(data, 1, "fmean")]
        if weights is None:
            return math.fsum(values) / len(values)
        weights = list(weights)
        if len(weights) != len(values):
            raise ValueError("data and weights must be the same length")
        whole = math.fsum(weights)
        if not whole:
            raise ValueError("sum of weights must be non-zero")
        return math.fsum([w * v for w, v in zip(weights, values)]) / whole

    def geometric_mean(data):
        values = numbers(data, 1, "geometric mean")
        if min(values) <= 0:
            raise ValueError("geometric mean requires positive numbers")
        return math.exp(math.fsum([math.log(value) for value in values]) / len(values))

    def harmonic_mean(data, weights=None):
        values = numbers(data, 1, "harmonic_mean")
        if min(values) < 0:
            raise ValueError("harmonic mean does not support negative values")
        weights = [1] * len(values) if weights is None else list(weights)
        if len(weights) != len(values):
            raise ValueError("Number of weights does not match data size")
        if len(values) == 1:
            return values[0]
        if 0 in values:
            return 0
        parts = [w / v if w else 0 for w, v in zip(weights, values)]
        n, d = exact_sum([pair(part) for part in parts])
        whole, common = exact_sum([pair(weight) for weight in weights])
        return as_number(whole * d, common * n, parts)

    def median(data):
        values = sorted(numbers(data, 1, "median"))
        half = len(values) // 2
        if len(values) % 2:
            return values[half]
        return (values[half - 1] + values[half]) / 2

    def median_low(data):
        values = sorted(numbers(data, 1, "median_low"))
        return values[(len(values) - 1) // 2]

    def median_high(data):
        values = sorted(numbers(data, 1, "median_high"))
        return values[len(values) // 2]

    def multimode(data):
        counts = collections.Counter(list(data))
        most = max(counts.values(), default=0)
        return [value for value, count in counts.items() if count == most]

    def mode(data):
        values = multimode(data)
        if not values:
            raise ValueError("no mode for empty data")
        return values[0]

    def variance(data, xbar=None):
        values = numbers(data, 2, "variance")
        if not is_finite(values):
            return math.nan
        return as_number(*spread(values, xbar, len(values) - 1), values)

    def pvariance(data, mu=None):
        values = numbers(data, 1, "pvariance")
        if not is_finite(values):
            return math.nan
        return as_number(*spread(values, mu, len(values)), values)

    def stdev(data, xbar=None):
        values = numbers(data, 2, "stdev")
        if not is_finite(values):
            return math.nan
        return root(*spread(values, xbar, len(values) - 1), values)

    def pstdev(data, mu=None):
        values = numbers(data, 1, "pstdev")
        if not is_finite(values):
            return math.nan
        return root(*spread(values, mu, len(values)), values)

    def quantiles(data, *, n=4, method="exclusive"):
        values = sorted(numbers(data, 2, "quantiles"))
        if n < 1:
            raise ValueError("n must be at least 1")
        if method not in ("inclusive", "exclusive"):
            raise ValueError(f"Unknown method: {method!r}")
        count, cuts = len(values), []
        span = count - 1 if method == "inclusive" else count + 1
        for i in range(1, n):
            if method == "inclusive":
                j, rest = divmod(i * span, n)
                low, high = values[j], values[j + 1]
            else:
                j = min(max(i * span // n, 1), count - 1)
                rest = i * span - j * n
                low, high = values[j - 1], values[j]
            cuts.append((low * (n - rest) + high * rest) / n)
        return cuts

    def pairs(x, y, name):
        x, y = list(x), list(y)
        if len(x) != len(y):
            raise ValueError(f"{name} requires that both inputs have same number of data points")
        return numbers(x, 2, name), numbers(y, 2, name)

    def products(x, y):
        x_centre, y_centre = math.fsum(x) / len(x), math.fsum(y) / len(y)
        x, y = [value - x_centre for value in x], [value - y_centre for value in y]
        return [math.fsum([a * b for a, b in zip(*p)]) for p in ((x, y), (x, x), (y, y))]

    def covariance(x, y):
        x, y = pairs(x, y, "covariance")
        return products(x, y)[0] / (len(x) - 1)

    def correlation(x, y):
        x, y = pairs(x, y, "correlation")
        xy, xx, yy = products(x, y)
        if not xx or not yy:
            raise ValueError("at least one of the inputs is constant")
        return xy / math.sqrt(xx * yy)

    def linear_regression(x, y, *, proportional=False):
        x, y = pairs(x, y, "linear regression")
        xy, xx, yy = products(x, y)
        if proportional:
            xy = math.fsum([a * b for a, b in zip(x, y)])
            xx = math.fsum([a * a for a in x])
        if not xx:
            raise ValueError("x is constant")
        slope = xy / xx
        centre = math.fsum(y) / len(y) - slope * (math.fsum(x) / len(x))
        return LinearRegression(slope, 0.0 if proportional else centre)

    StatisticsError = ValueError
'''

STATISTICS_NAMES = (
    *("StatisticsError", "correlation", "covariance", "fmean", "geometric_mean"),
    *("harmonic_mean", "linear_regression", "mean", "median", "median_high"),
    *("median_low", "mode", "multimode", "pstdev", "pvariance", "quantiles", "stdev"),
    "variance",
)
