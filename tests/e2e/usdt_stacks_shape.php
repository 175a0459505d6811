<?php
// A program of known shape: run() calls each of these for so many rounds, and they spin().
function spin(int $rounds): int
{
	$sum = 0;
	for ($i = 0; $i < $rounds * 1000; $i++)
		$sum += $i * $i % 7;
	return $sum;
}
class Work
{
	function heavy() { return spin(30); }
	static function light() { return spin(10); }
}
function recurse(int $n) { return $n ? recurse($n - 1) : spin(5); }
function thrower(int $n)
{
	if ($n)
		return thrower($n - 1);
	throw new Exception("out of here");
}
function catcher()
{
	try {
		thrower(5);
	} catch (Exception $e) {
	}
	quiet();
}
function quiet() { return spin(10); }
function generate()
{
	for ($i = 0; $i < 3; $i++) {
		spin(3);
		yield $i;
	}
}
function consume()
{
	foreach (generate() as $i)
		spin(1);
	$unfinished = generate();
	$unfinished->current();
	unset($unfinished);
	quiet();
}
function run(float $seconds)
{
	$work = new Work;
	do {
		$work->heavy();
		Work::light();
		recurse(40);
		catcher();
		consume();
		array_map(fn ($i) => by_map(), [1, 2]);
		$usage = getrusage();
	} while ($usage["ru_utime.tv_sec"] + $usage["ru_utime.tv_usec"] / 1e6 < $seconds);
}
function by_map() { return spin(5); }
function bottom(int $n) { return $n ? bottom($n - 1) : spin(5000); }
if ($argv[2] ?? 0)
	bottom((int)$argv[2]);
run((float)$argv[1]);
