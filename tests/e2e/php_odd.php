<?php
// For php.sh: calls whose frames are found in other places than most. Prints whether there are
// fibers.

function spin($n)
{
    $x = 0;
    for ($i = 0; $i < $n; $i++) {
        $x = ($x + $i * $i) & 0xffffff;
    }
    return $x;
}

// What the callback made is freed when it has returned, but before its caller goes on.
function fill()
{
    $list = [];
    for ($i = 0; $i < 30000; $i++) {
        $list[] = [$i];
    }
    return 1;
}

function freeing()
{
    array_map('fill', [1, 2]);
}

function inner()
{
    for ($i = 0; $i < 3; $i++) {
        yield spin(30000);
    }
}

function outer()
{
    yield from inner();
}

function outest()
{
    yield from outer();
}

function delegating()
{
    foreach (outest() as $value) {
    }
}

function in_fiber()
{
    $fiber = new Fiber(function () {
        Fiber::suspend(1);
        spin(60000);
    });
    $fiber->start();
    $fiber->resume();
}

function by_pattern()
{
    for ($i = 0; $i < 10; $i++) {
        preg_match('/(?:a|b)+?[cd]/', str_repeat('ab', 400));
    }
}

function now()
{
    $usage = getrusage();
    return $usage['ru_utime.tv_sec'] + $usage['ru_utime.tv_usec'] / 1e6
        + $usage['ru_stime.tv_sec'] + $usage['ru_stime.tv_usec'] / 1e6;
}

$has_fibers = class_exists('Fiber');
while (now() < (float) $argv[1]) {
    freeing();
    delegating();
    if ($has_fibers) {
        in_fiber();
    }
    by_pattern();
}
echo (int) $has_fibers, "\n";
