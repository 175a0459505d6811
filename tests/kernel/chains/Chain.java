public class Chain {
	static int inner(long until) {
		int total = 0;
		while (System.nanoTime() < until)
			for (int i = 0; i < 2000; i++)
				total += i * i % 7;
		return total;
	}

	static int middle(long until) {
		return inner(until) + 1;
	}

	static int outer(long until) {
		return middle(until) + 1;
	}

	public static void main(String[] arguments) {
		outer(System.nanoTime() + (long) (Double.parseDouble(arguments[0]) * 1e9));
	}
}
