// DotnetNames FILE STEPS: until there is that file, methods that each run for a millisecond or so, and
// are never inlined: a judge that looks at the program counter twice within much less, and finds the same
// method, knows what ran in between. Prints which share of its CPU time each had, by its own clock.
using System;
using System.IO;
using System.Runtime.CompilerServices;

static class DotnetNames
{
	const MethodImplOptions Apart = MethodImplOptions.NoInlining;
	[MethodImpl(Apart)] static long m00(long x, int n) { for (int i = 0; i < n; i++) x = x * 31 + i; return x; }
	[MethodImpl(Apart)] static long m01(long x, int n) { for (int i = 0; i < n; i++) x = x * 33 ^ i; return x; }
	[MethodImpl(Apart)] static long m02(long x, int n) { for (int i = 0; i < n; i++) x += i ^ x >> 7; return x; }
	[MethodImpl(Apart)] static long m03(long x, int n) { for (int i = 0; i < n; i++) x = x * 37 - i; return x; }
	[MethodImpl(Apart)] static long m04(long x, int n) { for (int i = 0; i < n; i++) x ^= x << 3 ^ i; return x; }
	[MethodImpl(Apart)] static long m05(long x, int n) { for (int i = 0; i < n; i++) x = x * 41 + (i & 9); return x; }
	[MethodImpl(Apart)] static long m06(long x, int n) { for (int i = 0; i < n; i++) x = (x ^ i) * 43; return x; }
	[MethodImpl(Apart)] static long m07(long x, int n) { for (int i = 0; i < n; i++) x -= i * x >> 5; return x; }
	[MethodImpl(Apart)] static long m08(long x, int n) { for (int i = 0; i < n; i++) x = x * 47 + ~i; return x; }
	[MethodImpl(Apart)] static long m09(long x, int n) { for (int i = 0; i < n; i++) x = x * 53 ^ i >> 1; return x; }
	[MethodImpl(Apart)] static long m10(long x, int n) { for (int i = 0; i < n; i++) x += x << 5 ^ i; return x; }
	[MethodImpl(Apart)] static long m11(long x, int n) { for (int i = 0; i < n; i++) x = x * 59 + i * 3; return x; }
	[MethodImpl(Apart)] static long m12(long x, int n) { for (int i = 0; i < n; i++) x = (x + i) * 61; return x; }
	[MethodImpl(Apart)] static long m13(long x, int n) { for (int i = 0; i < n; i++) x ^= x >> 9 ^ i; return x; }
	[MethodImpl(Apart)] static long m14(long x, int n) { for (int i = 0; i < n; i++) x = x * 67 - (i | 5); return x; }
	[MethodImpl(Apart)] static long m15(long x, int n) { for (int i = 0; i < n; i++) x = (x << 1) + i; return x; }

	static void Main(string[] arguments)
	{
		Func<long, int, long>[] methods = {
			m00, m01, m02, m03, m04, m05, m06, m07, m08, m09, m10, m11, m12, m13, m14, m15
		};
		long x = 0;
		int steps = int.Parse(arguments[1]); // of the first method; the last does four times as many
		var spent = new double[methods.Length];
		double all = 0;
		for (int at = 0; at > 0 || !File.Exists(arguments[0]); at = (at + 1) % methods.Length) {
			TimeSpan from = Environment.CpuUsage.TotalTime;
			x = methods[at](x, steps + (int)(steps * 3L * at / (methods.Length - 1)));
			spent[at] += (Environment.CpuUsage.TotalTime - from).TotalSeconds;
		}
		foreach (double one in spent)
			all += one;
		for (int at = 0; at < methods.Length; at++)
			Console.WriteLine($"m{at:00} {100 * spent[at] / all:0.00}");
		Console.WriteLine($"sum {x}");
	}
}
