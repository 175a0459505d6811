import java.io.File;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * A program of methods that each run for a millisecond or so, and are never inlined: whoever looks at
 * the program counter twice within much less, and finds the same method, knows what ran in between.
 * Prints which share of its time each method had, by its own clock, when there is the file that it is given.
 */
public class JavaNames {
	static final int METHODS = 16;
	static volatile long sink;

	static long m00(long x, int n) { for (int i = 0; i < n; i++) x = x * 31 + i; return x; }
	static long m01(long x, int n) { for (int i = 0; i < n; i++) x = x * 33 ^ i; return x; }
	static long m02(long x, int n) { for (int i = 0; i < n; i++) x += i ^ x >> 7; return x; }
	static long m03(long x, int n) { for (int i = 0; i < n; i++) x = x * 37 - i; return x; }
	static long m04(long x, int n) { for (int i = 0; i < n; i++) x ^= x << 3 ^ i; return x; }
	static long m05(long x, int n) { for (int i = 0; i < n; i++) x = x * 41 + (i & 9); return x; }
	static long m06(long x, int n) { for (int i = 0; i < n; i++) x = (x ^ i) * 43; return x; }
	static long m07(long x, int n) { for (int i = 0; i < n; i++) x -= i * x >> 5; return x; }
	static long m08(long x, int n) { for (int i = 0; i < n; i++) x = x * 47 + ~i; return x; }
	static long m09(long x, int n) { for (int i = 0; i < n; i++) x = x * 53 ^ i >> 1; return x; }
	static long m10(long x, int n) { for (int i = 0; i < n; i++) x += x << 5 ^ i; return x; }
	static long m11(long x, int n) { for (int i = 0; i < n; i++) x = x * 59 + i * 3; return x; }
	static long m12(long x, int n) { for (int i = 0; i < n; i++) x = (x + i) * 61; return x; }
	static long m13(long x, int n) { for (int i = 0; i < n; i++) x ^= x >> 9 ^ i; return x; }
	static long m14(long x, int n) { for (int i = 0; i < n; i++) x = x * 67 - (i | 5); return x; }
	static long m15(long x, int n) { for (int i = 0; i < n; i++) x = (x << 1) + i; return x; }

	static long call(int method, long x, int n) {
		switch (method) {
		case 0: return m00(x, n);
		case 1: return m01(x, n);
		case 2: return m02(x, n);
		case 3: return m03(x, n);
		case 4: return m04(x, n);
		case 5: return m05(x, n);
		case 6: return m06(x, n);
		case 7: return m07(x, n);
		case 8: return m08(x, n);
		case 9: return m09(x, n);
		case 10: return m10(x, n);
		case 11: return m11(x, n);
		case 12: return m12(x, n);
		case 13: return m13(x, n);
		case 14: return m14(x, n);
		case 15: return m15(x, n);
		default: throw new AssertionError(method);
		}
	}

	public static void main(String[] arguments) {
		long x = 0, all = 0;
		File end = new File(arguments[0]);
		int n = Integer.parseInt(arguments[1]); // of the first method; the last does four times as much
		long[] spent = new long[METHODS];
		ThreadMXBean clock = ManagementFactory.getThreadMXBean(); // of CPU time
		for (int method = 0; method > 0 || !end.exists(); method = (method + 1) % METHODS) {
			long from = clock.getCurrentThreadCpuTime();
			x = call(method, x, n + n * 3 * method / (METHODS - 1));
			spent[method] += clock.getCurrentThreadCpuTime() - from;
		}
		sink = x;
		for (long one : spent)
			all += one;
		for (int method = 0; method < METHODS; method++)
			System.out.printf("m%02d %.2f%n", method, 100.0 * spent[method] / all);
	}
}
