import java.lang.reflect.Method;
import java.util.concurrent.locks.LockSupport;

/**
 * Virtual threads of known shape: each calls go(), that hop00(), and so on to hop11(), where it works,
 * waits now and then, works again, and on the way back, too. While it waits its frames are put aside,
 * and come back to the carrier's stack a few at a time. Takes the seconds to run.
 */
public class JavaVirtual {
	static final int HOPS = 12, THREADS = 8;
	static volatile long sink;
	static long end;

	static long work(long x) {
		for (int i = 0; i < 3000; i++)
			x = x * 6364136223846793005L + i;
		return x;
	}

	static long hop00(long x, boolean waits) { return work(x) + hop01(work(x), waits) + work(x ^ 1); }
	static long hop01(long x, boolean waits) { return hop02(x, waits) + work(x); }
	static long hop02(long x, boolean waits) { return hop03(x, waits) + work(x); }
	static long hop03(long x, boolean waits) { return hop04(x, waits) + work(x); }
	static long hop04(long x, boolean waits) { return hop05(x, waits) + work(x); }
	static long hop05(long x, boolean waits) { return hop06(x, waits) + work(x); }
	static long hop06(long x, boolean waits) { return hop07(x, waits) + work(x); }
	static long hop07(long x, boolean waits) { return hop08(x, waits) + work(x); }
	static long hop08(long x, boolean waits) { return hop09(x, waits) + work(x); }
	static long hop09(long x, boolean waits) { return hop10(x, waits) + work(x); }
	static long hop10(long x, boolean waits) { return hop11(x, waits) + work(x); }
	static long hop11(long x, boolean waits) {
		x = work(work(x));
		if (waits)
			LockSupport.parkNanos(1000);
		return work(x) + work(x ^ 3) + work(x ^ 5);
	}

	static void go() {
		long x = Thread.currentThread().hashCode();
		for (int i = 0; System.nanoTime() < end; i++)
			x = hop00(x, i % 3 == 0);
		sink += x;
	}

	public static void main(String[] arguments) throws Exception {
		end = System.nanoTime() + (long)(Double.parseDouble(arguments[0]) * 1e9);
		Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
		Thread[] threads = new Thread[THREADS];
		for (int i = 0; i < THREADS; i++)
			threads[i] = (Thread) start.invoke(null, (Runnable) JavaVirtual::go);
		for (Thread thread : threads)
			thread.join();
	}
}
