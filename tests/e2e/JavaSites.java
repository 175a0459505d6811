/**
 * Methods that are inlined in each other, of which each calls at lines of its own, and one that never is,
 * where the time is spent: of it is known how much by which of the calls.
 */
public class JavaSites {
	static long work(long x, int n) {
		for (int i = 0; i < n; i++)
			x = x * 31 + (x >>> 7 ^ i);
		return x;
	}
	static long inner(long x) {
		x = work(x, 3000); // three times as long
		return work(x, 1000); // as here
	}
	static long middle(long x) {
		long y = inner(x); // the first half
		return y + inner(y ^ 5); // the second
	}
	static long outer(long x) {
		return middle(x) * 3; // always
	}
	static long turn(long x) {
		return outer(x) + 1; // always
	}

	public static void main(String[] arguments) {
		long end = System.nanoTime() + (long) (Double.parseDouble(arguments[0]) * 1e9), x = 1;
		while (System.nanoTime() < end)
			x = turn(x);
		System.out.println(x);
	}
}
