/** See JavaTurns, which makes others of it. */
public class JavaTurnsPlugin00 implements JavaTurns.Way {
	public long go(int depth, long x) { return run00(depth, JavaTurns.work(x)); }
	static long run00(int depth, long x) { return JavaTurns.hop03(depth, x) + 1; }
}
