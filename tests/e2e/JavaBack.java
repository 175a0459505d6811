/**
 * A program of known shape: turn() calls down(), a method in C (in java.sh), which calls up() through
 * the virtual machine, that down() again, and so on to a depth that changes.
 */
public class JavaBack {
	static final int DEPTH = 6;
	static volatile long sink;

	native long down(int depth, long x);

	static long work(long x) {
		for (int i = 0; i < 900; i++)
			x = x * 31 + (i ^ x >> 7);
		return x;
	}

	long up(int depth, long x) {
		x = work(x);
		return depth > 0 ? down(depth - 1, x) + 1 : x;
	}

	long turn(int number) { return down(number % DEPTH, number); }

	public static void main(String[] arguments) {
		System.loadLibrary("javaback");
		JavaBack back = new JavaBack();
		long end = System.nanoTime() + (long) (Double.parseDouble(arguments[0]) * 1e9), x = 0;
		for (int number = 0; System.nanoTime() < end; number++)
			x += back.turn(number & 0xffff);
		sink = x;
	}
}
