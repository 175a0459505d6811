/**
 * Methods that are inlined in turn(), of which it is known how much each takes: first() three times
 * as long as second().
 */
public class JavaInlined {
	static long first(long x) {
		for (int i = 0; i < 3000; i++)
			x = x * 31 + (x >>> 7 ^ i);
		return x;
	}
	static long second(long x) {
		for (int i = 0; i < 1000; i++)
			x = x * 37 + (x >>> 9 ^ i);
		return x;
	}
	static long turn(long x) { return second(first(x)); }

	public static void main(String[] arguments) {
		long end = System.nanoTime() + (long) (Double.parseDouble(arguments[0]) * 1e9), x = 1;
		while (System.nanoTime() < end)
			x = turn(x);
		System.out.println(x);
	}
}
