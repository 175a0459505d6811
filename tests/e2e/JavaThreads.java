// Threads for java.sh whose names the kernel does not keep whole: two that begin alike, one with
// letters of two bytes, and those of a pool, which begin after half of the time.
public class JavaThreads {
    static long result;

    static void spin(long end) {
        long x = 0;
        while (System.nanoTime() < end)
            for (int i = 0; i < 1000; i++)
                x = x * 31 + i;
        result += x;
    }

    public static void main(String[] arguments) throws Exception {
        long begin = System.nanoTime(), all = (long) (Double.parseDouble(arguments[0]) * 1e9);
        String[] names = {"connection-acceptor-a", "connection-acceptor-b", "verarbeitung-der-\u00e4pfel", "short"};
        Thread[] threads = new Thread[names.length];
        for (int i = 0; i < names.length; i++) {
            threads[i] = new Thread(() -> spin(begin + all), names[i]);
            threads[i].start();
        }
        Thread.sleep(all / 2000000);
        var pool = new java.util.concurrent.ForkJoinPool(2);
        for (int i = 0; i < 2; i++)
            pool.submit(() -> spin(begin + all));
        for (Thread thread : threads)
            thread.join();
        pool.shutdown();
        pool.awaitTermination(1, java.util.concurrent.TimeUnit.SECONDS);
    }
}
