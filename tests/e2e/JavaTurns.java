import java.io.InputStream;
import java.lang.reflect.Method;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * A program of known shape for what a virtual machine does beside running methods: turn() calls
 * hop00(), that hop01(), and so on, each on a way of its own: by reflection, through a class that is
 * loaded anew each time and unloaded later, out of a stream, through a megamorphic call, behind a
 * caught exception, in a loop that is compiled while it runs. The arguments: seconds, and how many
 * KiB to allocate in each turn.
 */
public class JavaTurns {
	public interface Way { long go(int depth, long x); }
	static final class WayA implements Way { public long go(int depth, long x) { return hop04(depth, x) + 1; } }
	static final class WayB implements Way { public long go(int depth, long x) { return hop04(depth, x) + 2; } }
	static final class WayC implements Way { public long go(int depth, long x) { return hop04(depth, x) + 3; } }
	static final class WayD implements Way { public long go(int depth, long x) { return hop04(depth, x) + 4; } }

	/** Becomes Plugin00 to Plugin99, with the methods run00 to run99: the bytes are replaced. */
	static final class Plugins extends ClassLoader {
		static final byte[] template = read();
		static byte[] read() {
			try (InputStream in = JavaTurns.class.getResourceAsStream("JavaTurnsPlugin00.class")) {
				return in.readAllBytes();
			} catch (java.io.IOException never) {
				throw new AssertionError(never);
			}
		}
		Class<?> make(int number) {
			byte[] bytes = template.clone();
			for (int i = 0; i + 1 < bytes.length; i++)
				if (bytes[i] == '0' && bytes[i + 1] == '0' && (bytes[i - 1] == 'n')) {
					bytes[i] = (byte) ('0' + number / 10);
					bytes[i + 1] = (byte) ('0' + number % 10);
				}
			return defineClass(null, bytes, 0, bytes.length);
		}
	}

	static final int HOPS = 9;
	static final Way[] ways = {new WayA(), new WayB(), new WayC(), new WayD()};
	static final ArrayDeque<byte[]> kept = new ArrayDeque<>();
	static Method reflected;
	static Way plugin;
	static int plugins;
	static volatile long sink;

	public static long work(long x) {
		for (int i = 0; i < 600; i++)
			x = x * 6364136223846793005L + i;
		return x;
	}
	static long fail(int depth, long x) {
		if (depth == 0)
			throw new IllegalStateException("no");
		return fail(depth - 1, x) + 1;
	}
	static void renew() {
		try {
			plugin = (Way) new Plugins().make(plugins++ % 100).getDeclaredConstructor().newInstance();
		} catch (ReflectiveOperationException never) {
			throw new AssertionError(never);
		}
	}

	static long hop00(int depth, long x) { x = work(x); return depth > 0 ? hop01(depth - 1, x) + 1 : x; }
	static long hop01(int depth, long x) {
		x = work(x);
		try {
			return depth > 0 ? (Long) reflected.invoke(null, depth - 1, x) + 1 : x;
		} catch (ReflectiveOperationException never) {
			throw new AssertionError(never);
		}
	}
	public static long hop02(int depth, long x) { x = work(x); return depth > 0 ? plugin.go(depth - 1, x) + 1 : x; }
	public static long hop03(int depth, long x) {
		x = work(x);
		return depth > 0 ? ways[(int) (x & 3)].go(depth - 1, x) + 1 : x;
	}
	static long hop04(int depth, long x) {
		long y = work(x);
		return depth > 0 ? IntStream.range(0, 2).mapToLong(i -> hop05(depth - 1, y + i)).sum() : y;
	}
	static long hop05(int depth, long x) {
		x = work(x);
		try {
			x = fail(4, x);
		} catch (IllegalStateException expected) {
			x = depth > 0 ? hop06(depth - 1, x) + 1 : x;
		}
		return x;
	}
	static long hop06(int depth, long x) {
		for (int i = 0; i < 4000; i++)
			x = x * 31 + (i ^ x >> 7);
		return depth > 0 ? hop07(depth - 1, x) + 1 : x;
	}
	static synchronized long hop07(int depth, long x) { x = work(x); return depth > 0 ? hop08(depth - 1, x) + 1 : x; }
	static long hop08(int depth, long x) {
		long[] numbers = new long[300];
		for (int i = 0; i < numbers.length; i++)
			numbers[i] = work(x + i) ^ i;
		Arrays.sort(numbers);
		return numbers[3];
	}

	static long turn(long number, int kib) {
		if (number % 10 == 0)
			renew();
		for (int i = 0; i < kib; i += 16) {
			kept.add(new byte[16 << 10]);
			if (kept.size() > 512)
				kept.remove();
		}
		return hop00((int) (number % HOPS), number);
	}

	public static void main(String[] arguments) throws Exception {
		long end = System.nanoTime() + (long) (Double.parseDouble(arguments[0]) * 1e9), x = 0;
		int kib = Integer.parseInt(arguments[1]);
		reflected = JavaTurns.class.getMethod("hop02", int.class, long.class);
		renew();
		for (long number = 0; System.nanoTime() < end; number++)
			x += turn(number, kib);
		sink = x;
		System.out.println(plugins);
	}
}
