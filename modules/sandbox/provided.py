"""`statistics` and `string` for plans: modules that the interpreter lacks, in its own Python.

A plan that imports one gets an object with the module's functions in front of it; everything runs
inside the sandbox, under the plan's limits. Results are those of Python's own modules up to
rounding: sums of floats are exact (`fsum`), those of integers and decimals too.
"""

from types import MappingProxyType

_STATISTICS = """
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
        return values

    def total(values):
        for value in values:
            if isinstance(value, float):
                return math.fsum(values)
        return sum(values)

    def ratio(a, b):
        if isinstance(a, int) and a % b == 0:
            return a // b
        return a / b

    def sum_of_squares(values, centre):
        if centre is None and all([isinstance(value, int) for value in values]):
            n, whole = len(values), sum(values)
            return n * sum([value * value for value in values]) - whole * whole, n
        if centre is None:
            centre = total(values) / len(values)
            apart = [value - centre for value in values]
            return total([a * a for a in apart]) - total(apart) * (total(apart) / len(values)), 1
        return total([(value - centre) * (value - centre) for value in values]), 1

    def root(value):
        if type(value) is decimal.Decimal:
            return value.sqrt()
        return math.sqrt(value)

    def mean(data):
        values = numbers(data, 1, "mean")
        return ratio(total(values), len(values))

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
        return sum(weights) / total([w / v for w, v in zip(weights, values)])

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
        squares, scale = sum_of_squares(values, xbar)
        return ratio(squares, scale * (len(values) - 1))

    def pvariance(data, mu=None):
        values = numbers(data, 1, "pvariance")
        squares, scale = sum_of_squares(values, mu)
        return ratio(squares, scale * len(values))

    def stdev(data, xbar=None):
        values = numbers(data, 2, "stdev")
        return root(variance(values, xbar))

    def pstdev(data, mu=None):
        values = numbers(data, 1, "pstdev")
        return root(pvariance(values, mu))

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
"""

_STRING = r"""
    class string:
        pass
    ascii_lowercase = "abcdefghijklmnopqrstuvwxyz"
    ascii_uppercase = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    ascii_letters = ascii_lowercase + ascii_uppercase
    digits = "0123456789"
    hexdigits = digits + "abcdef" + "ABCDEF"
    octdigits = "01234567"
    punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
    whitespace = " \t\n\r\x0b\x0c"
    printable = digits + ascii_letters + punctuation + whitespace

    def capwords(s, sep=None):
        words = s.split() if sep is None else s.split(sep)
        return (sep or " ").join([word.capitalize() for word in words])
"""

_SOURCES = MappingProxyType({"statistics": _STATISTICS, "string": _STRING})

PROVIDED_MODULES = MappingProxyType(
    {
        "statistics": (
            *("StatisticsError", "correlation", "covariance", "fmean", "geometric_mean"),
            *("harmonic_mean", "linear_regression", "mean", "median", "median_high"),
            *("median_low", "mode", "multimode", "pstdev", "pvariance", "quantiles", "stdev"),
            "variance",
        ),
        "string": (
            *("ascii_letters", "ascii_lowercase", "ascii_uppercase", "capwords", "digits"),
            *("hexdigits", "octdigits", "printable", "punctuation", "whitespace"),
        ),
    }
)
"""What each of these modules has."""


def provided_name(module: str) -> str:
    """What the object that stands for a module is called in the sandbox."""
    return f"__provided_{module}__"


def provided_source(module: str) -> str:
    """The Python that makes a provided module, to be fed before a plan that imports it."""
    builder = f"__provide_{module}__"
    offer = "".join(f"    module.{name} = {name}\n" for name in PROVIDED_MODULES[module])
    return (
        f"def {builder}():{_SOURCES[module]}\n"
        f"    module = {module}()\n{offer}    return module\n"
        f"{provided_name(module)} = {builder}()\n"
    )
