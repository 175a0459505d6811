# A second or two of several languages, those of them that are installed: what the README's pictures show.
if command -v python3 >/dev/null; then
	cat >report.py <<-'END'
		import json, re, time

		def encode(rows):
		    return json.dumps({str(i): [i] * 5 for i in range(rows)})

		def parse(text):
		    return json.loads(text)

		def count_words(text):
		    return len(re.findall(r"[0-9]+", text))

		end = time.time() + 2
		while time.time() < end:
		    text = encode(2000)
		    parse(text)
		    count_words(text)
	END
	python3 report.py
fi
if command -v node >/dev/null; then
	cat >server.js <<-'END'
		function rows(count) { return [...Array(count).keys()].map((x) => ({x, text: "row " + x})); }
		function render(list) { return JSON.stringify(list); }
		function sortByText(list) { return list.sort((a, b) => a.text < b.text ? -1 : 1); }
		for (const end = Date.now() + 2000; Date.now() < end;)
			render(sortByText(rows(3000)));
	END
	node server.js
fi
if command -v java >/dev/null; then
	cat >Orders.java <<-'END'
		import java.util.*;
		import java.util.stream.*;

		public class Orders {
			static Map<Integer, List<String>> group(int count) {
				return IntStream.range(0, count).mapToObj(i -> "order " + i).collect(Collectors.groupingBy(String::hashCode));
			}
			static int total(Map<Integer, List<String>> orders) {
				return orders.values().stream().mapToInt(List::size).sum();
			}
			public static void main(String[] arguments) {
				int sum = 0;
				for (long end = System.currentTimeMillis() + 1500; System.currentTimeMillis() < end;)
					sum += total(group(20000));
				System.out.println(sum);
			}
		}
	END
	java Orders.java
fi
if command -v ruby >/dev/null; then
	ruby -e 'def words(n) = (1..n).map { |i| "word#{i}" }
		def longest(list) = list.sort_by { |it| [-it.size, it] }.first
		stop = Time.now + 1
		longest(words(5000)) while Time.now < stop'
fi
if command -v php >/dev/null; then
	php -r 'function page($n) { $out = []; foreach (range(1, $n) as $i) $out[] = htmlspecialchars("<b>$i</b>"); return implode("\n", $out); }
		for ($end = microtime(true) + 1; microtime(true) < $end;) md5(page(3000));'
fi
if command -v g++ >/dev/null; then
	printf '#include <map>\n#include <string>\nint main() { std::map<std::string, int> words; words["a"]++; return words.size() > 1; }\n' >program.cc
	g++ -O1 -c program.cc
fi
