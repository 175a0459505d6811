<?php
// A program of known shape for php.sh, for PHP 7.4 and later: heavy(), medium() and light() take
// about 60, 30 and 10 % of the time (the program prints what it was), and every other way to be
// called has a function of its own. Arguments: seconds, and how much more work there is to be done
// between two looks at the clock.

function spin($n)
{
    $x = 0;
    for ($i = 0; $i < $n; $i++) {
        $x = ($x + $i * $i) & 0xffffff; // hot
    }
    return $x;
}

function heavy()
{
    return spin(60000 * FACTOR);
}

function medium()
{
    return spin(30000 * FACTOR);
}

function light()
{
    return spin(10000 * FACTOR);
}

function recurse($depth)
{
    return $depth ? recurse($depth - 1) : spin(4000 * FACTOR);
}

function produce()
{
    for ($i = 0; $i < 3; $i++) {
        yield spin(1500 * FACTOR);
    }
}

function generate()
{
    $sum = 0;
    foreach (produce() as $value) {
        $sum += $value;
    }
    return $sum;
}

function by_sort()
{
    $list = range(0, 30);
    usort($list, function ($a, $b) {
        return spin(30 * FACTOR) + $a <=> spin(30 * FACTOR) + $b;
    });
    return $list;
}

function by_pattern()
{
    return preg_replace_callback('/a/', function ($match) {
        return (string) spin(200 * FACTOR);
    }, str_repeat('a', 30));
}

class Größe
{
    private $n;

    public function __construct($n)
    {
        $this->n = $n;
    }

    public function method()
    {
        return spin($this->n * FACTOR);
    }

    public static function made()
    {
        return spin(3000 * FACTOR);
    }

    public function __toString()
    {
        return (string) spin(3000 * FACTOR);
    }
}

function by_string()
{
    return 'x' . new Größe(1);
}

function without_name()
{
    $object = new class(1) extends Größe {
        public function anonymous()
        {
            return spin(3000 * FACTOR);
        }
    };
    return $object->anonymous();
}

function native()
{
    return strlen(str_repeat(md5(str_repeat('a', 20000)), 10));
}

function now()
{
    $usage = getrusage();
    return $usage['ru_utime.tv_sec'] + $usage['ru_utime.tv_usec'] / 1e6
        + $usage['ru_stime.tv_sec'] + $usage['ru_stime.tv_usec'] / 1e6;
}

function run($end)
{
    global $spent;
    $object = new Größe(3000);
    while (now() < $end) {
        for ($i = 0; $i < 2; $i++) {
            $start = now();
            heavy();
            $then = now();
            medium();
            $later = now();
            light();
            $spent[0] += $then - $start;
            $spent[1] += $later - $then;
            $spent[2] += now() - $later;
        }
        recurse(40);
        generate();
        by_sort();
        by_pattern();
        $object->method();
        Größe::made();
        by_string();
        without_name();
        native();
        include __DIR__ . '/php_included.php';
    }
}

define('FACTOR', (int) $argv[2]);
$spent = [0, 0, 0];
run((float) $argv[1]);
foreach ($spent as $part) {
    echo 100 * $part / array_sum($spent), ' ';
}
echo "\n";
