<?php
// A program of known shape for php.sh, for PHP 7.4 and later: heavy(), medium() and light() take
// about 60, 30 and 10 % of the time (the program prints what it was), and every other way to be
// called has a function of its own.

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
    return spin(60000);
}

function medium()
{
    return spin(30000);
}

function light()
{
    return spin(10000);
}

function recurse($depth)
{
    return $depth ? recurse($depth - 1) : spin(400);
}

function produce()
{
    for ($i = 0; $i < 3; $i++) {
        yield spin(100);
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
        return spin(10) + $a <=> spin(10) + $b;
    });
    return $list;
}

function by_pattern()
{
    return preg_replace_callback('/a/', function ($match) {
        return (string) spin(30);
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
        return spin($this->n);
    }

    public static function made()
    {
        return spin(300);
    }

    public function __toString()
    {
        return (string) spin(300);
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
            return spin(300);
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
    $object = new Größe(300);
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

$spent = [0, 0, 0];
run((float) $argv[1]);
foreach ($spent as $part) {
    echo 100 * $part / array_sum($spent), ' ';
}
echo "\n";
