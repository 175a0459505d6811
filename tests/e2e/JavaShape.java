import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.zip.CRC32;
import java.util.zip.Deflater;

/**
 * A program of known shape: turn() calls step00(), that step01(), and so on to a depth that changes;
 * each does work of a kind of its own first. So of every stack with a step it is known which others
 * are in it. Then it spends its time in heavy(), medium() and light(), and prints how much in each.
 */
public class JavaShape {
	interface Solid { long volume(long side); }
	static final class Cube implements Solid { public long volume(long side) { return side * side * side; } }
	static final class Beam implements Solid { public long volume(long side) { return side * 7 + 3; } }
	static final class Tile implements Solid { public long volume(long side) { return side ^ side >> 3; } }
	static final class Refusal extends RuntimeException {
		Refusal(String why) { super(why); }
	}

	static final int STEPS = 14;
	static volatile long sink;
	final Solid[] solids = {new Cube(), new Beam(), new Tile(), new Beam()};
	final Map<String, Long> words = new HashMap<>();
	final long[] numbers = new long[400];
	final byte[] from = new byte[3000], to = new byte[6000];
	final Deflater deflater = new Deflater(1);
	final Pattern pattern = Pattern.compile("(x+y|z[uv]*)+w");
	final MethodHandle handle;

	JavaShape() throws ReflectiveOperationException {
		handle = MethodHandles.lookup().findVirtual(
			JavaShape.class, "handled", MethodType.methodType(long.class, long.class));
		for (int i = 0; i < from.length; i++)
			from[i] = (byte) (i * 31);
	}

	static long mix(long x) {
		for (int i = 0; i < 25; i++)
			x = x * 6364136223846793005L + i;
		return x;
	}

	long handled(long x) { return mix(x) + numbers.length; }
	long refuse(int depth, long x) {
		if (depth == 0)
			throw new Refusal("no " + (x & 7));
		return refuse(depth - 1, x) + 1;
	}
	synchronized long locked(long x) { return mix(x); }

	long arithmetic(long x) {
		for (int i = 1; i < 40; i++)
			x += x / i + x % i;
		return x;
	}
	long maps(long x) {
		for (int i = 0; i < 6; i++)
			words.merge("word" + (x + i & 127), x, Long::sum);
		return words.size();
	}
	long streams(long x) {
		return IntStream.range(0, 20).mapToObj(i -> "n" + (i + x)).filter(s -> s.length() > 3).count();
	}
	long exceptions(long x) {
		try {
			return refuse(5, x);
		} catch (Refusal refusal) {
			return refusal.getMessage().length();
		}
	}
	long locks(long x) {
		synchronized (words) {
			return locked(x) + mix(x);
		}
	}
	long copies(long x) {
		for (int i = 0; i < 12; i++)
			System.arraycopy(from, (int) (x & 31), to, i, 1500);
		return to[3] + Arrays.copyOf(numbers, 300).length;
	}
	long sorts(long x) {
		for (int i = 0; i < numbers.length; i++)
			numbers[i] = mix(x + i);
		Arrays.sort(numbers);
		return numbers[7];
	}
	long sums(long x) {
		CRC32 sum = new CRC32();
		sum.update(from, 0, 2000);
		return sum.getValue() + x;
	}
	long natives(long x) {
		deflater.reset();
		deflater.setInput(from, 0, 128);
		deflater.finish();
		return deflater.deflate(to) + System.nanoTime() % 3;
	}
	long virtuals(long x) {
		for (int i = 0; i < 60; i++)
			x += solids[i % solids.length].volume(x);
		return x;
	}
	long handles(long x) {
		try {
			return (long) handle.invokeExact(this, x);
		} catch (Throwable never) {
			throw new AssertionError(never);
		}
	}
	long expressions(long x) { return pattern.matcher("xxyzuvzzxyw" + (x & 3)).find() ? 1 : 0; }
	long objects(long x) {
		List<long[]> kept = new ArrayList<>();
		for (int i = 0; i < 40; i++)
			kept.add(new long[(int) (x & 15) + i]);
		return kept.size();
	}
	long loops(long x) {
		for (int i = 0; i < 3000; i++)
			x = x * 31 + (i ^ x >> 7);
		return x;
	}

	long step00(int depth, long x) { x += arithmetic(x); return depth > 0 ? step01(depth - 1, x) + 1 : x; }
	long step01(int depth, long x) { x += maps(x); return depth > 0 ? step02(depth - 1, x) + 1 : x; }
	long step02(int depth, long x) { x += streams(x); return depth > 0 ? step03(depth - 1, x) + 1 : x; }
	long step03(int depth, long x) { x += exceptions(x); return depth > 0 ? step04(depth - 1, x) + 1 : x; }
	long step04(int depth, long x) { x += locks(x); return depth > 0 ? step05(depth - 1, x) + 1 : x; }
	long step05(int depth, long x) { x += copies(x); return depth > 0 ? step06(depth - 1, x) + 1 : x; }
	long step06(int depth, long x) { x += sorts(x); return depth > 0 ? step07(depth - 1, x) + 1 : x; }
	long step07(int depth, long x) { x += sums(x); return depth > 0 ? step08(depth - 1, x) + 1 : x; }
	long step08(int depth, long x) { x += natives(x); return depth > 0 ? step09(depth - 1, x) + 1 : x; }
	long step09(int depth, long x) { x += virtuals(x); return depth > 0 ? step10(depth - 1, x) + 1 : x; }
	long step10(int depth, long x) { x += handles(x); return depth > 0 ? step11(depth - 1, x) + 1 : x; }
	long step11(int depth, long x) { x += expressions(x); return depth > 0 ? step12(depth - 1, x) + 1 : x; }
	long step12(int depth, long x) { x += objects(x); return depth > 0 ? step13(depth - 1, x) + 1 : x; }
	long step13(int depth, long x) { return x + loops(x); }

	long turn(long number) { return step00((int) (number % STEPS), number); }

	long heavy(long x) {
		for (int i = 0; i < 60000; i++)
			x = x * 31 + i; // hot
		return x;
	}
	long medium(long x) {
		for (int i = 0; i < 30000; i++)
			x = x * 31 + i;
		return x;
	}
	long light(long x) {
		for (int i = 0; i < 10000; i++)
			x = x * 31 + i;
		return x;
	}

	public static void main(String[] arguments) throws Exception {
		double seconds = Double.parseDouble(arguments[0]);
		JavaShape shape = new JavaShape();
		/* Its own CPU time: others may have the CPU half of the time, which is in no sample. */
		java.lang.management.ThreadMXBean clock = java.lang.management.ManagementFactory.getThreadMXBean();
		long middle = clock.getCurrentThreadCpuTime() + (long) (seconds * 0.6e9), x = 0;
		for (long number = 0; number % 16 != 0 || clock.getCurrentThreadCpuTime() < middle; number++)
			x += shape.turn(number);
		long[] spent = new long[3];
		for (long at = clock.getCurrentThreadCpuTime(), end = at + (long) (seconds * 0.4e9); at < end;) {
			x += shape.heavy(x);
			long behindHeavy = clock.getCurrentThreadCpuTime();
			x += shape.medium(x);
			long behindMedium = clock.getCurrentThreadCpuTime();
			x += shape.light(x);
			long behindLight = clock.getCurrentThreadCpuTime();
			spent[0] += behindHeavy - at;
			spent[1] += behindMedium - behindHeavy;
			spent[2] += behindLight - behindMedium;
			at = behindLight;
		}
		sink = x;
		long all = spent[0] + spent[1] + spent[2];
		System.out.println(100 * spent[0] / all + " " + 100 * spent[1] / all + " " + 100 * spent[2] / all);
	}
}
