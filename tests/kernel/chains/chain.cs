using System.Diagnostics;
using System.Globalization;
using System.Runtime.CompilerServices;

static class Chain
{
	[MethodImpl(MethodImplOptions.NoInlining)]
	static int inner(long until)
	{
		int total = 0;
		while (Stopwatch.GetTimestamp() < until)
			for (int i = 0; i < 2000; i++)
				total += i * i % 7;
		return total;
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static int middle(long until)
	{
		return inner(until) + 1;
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static int outer(long until)
	{
		return middle(until) + 1;
	}

	static void Main(string[] arguments)
	{
		double seconds = double.Parse(arguments[0], CultureInfo.InvariantCulture);
		// What has run before has its names by then: in an emulated machine to read these takes long.
		long begin = Stopwatch.GetTimestamp() + 2 * Stopwatch.Frequency;
		while (Stopwatch.GetTimestamp() < begin)
			;
		outer(begin + (long)(seconds * Stopwatch.Frequency));
	}
}
