<?php

function seconds()
{
	$usage = getrusage();
	return $usage["ru_utime.tv_sec"] + $usage["ru_utime.tv_usec"] / 1000000;
}

function inner($until)
{
	$total = 0;
	while (seconds() < $until) {
		for ($i = 0; $i < 2000; $i++)
			$total += $i * $i;
	}
	return $total;
}

function middle($until)
{
	return inner($until) + 1;
}

function outer($until)
{
	return middle($until) + 1;
}

outer(seconds() + $argv[1]);
