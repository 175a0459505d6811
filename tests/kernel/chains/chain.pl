use strict;

sub inner {
	my $until = shift;
	my $total = 0;
	while ((times)[0] < $until) {
		for my $i (0 .. 1999) {
			$total += $i * $i;
		}
	}
	return $total;
}

sub middle {
	return inner($_[0]) + 1;
}

sub outer {
	return middle($_[0]) + 1;
}

outer((times)[0] + $ARGV[0]);
