# A program of known shape for perl.sh, for any Perl from 5.28 on: heavy(), medium() and light() take
# about 60, 30 and 10 % of the time (the program prints what it was), and every other way to be called
# has a function of its own.
use strict;
use warnings;
use List::Util qw(first reduce);
use Time::HiRes qw(clock_gettime CLOCK_THREAD_CPUTIME_ID CLOCK_PROCESS_CPUTIME_ID);

sub spin {
    my ($n) = @_;
    my $x = 0;
    for my $i (1 .. $n) {
        $x += $i * $i % 7 + ($i ^ $x) % 5 - ($i & $x) * ($i | 1);    # hot
        $x = $x & 0xffff;
    }
    return $x;
}

sub heavy  { return spin(6000) }
sub medium { return spin(3000) }
sub light  { return spin(1000) }

sub recurse {
    my ($depth) = @_;
    return $depth ? recurse($depth - 1) : spin(1000);
}

sub key { return spin(30) + $_[0] }

sub by_name { return key($a) <=> key($b) }
sub by_sort  { return sort by_name 1 .. 12 }
sub by_block { return sort { key($a) <=> key($b) } 1 .. 12 }
sub by_last  { return sort { by_name() } 1 .. 12 }
sub by_first { return first { key($_) < 0 } 1 .. 30 }
sub by_reduce { return reduce { key($a) + $b } 1 .. 30 }

sub by_eval {
    my $x = 0;
    for (1 .. 10) {
        $x += eval { spin(60) };
    }
    return $x;
}

sub by_sort_eval { return sort { eval { key($a) } <=> eval { key($b) } } 1 .. 12 }

our $text;
sub by_text { return eval 'my $x = 0; for (1 .. 10) { $x += spin(60) } $x' }

sub by_regex {
    my $x = 0;
    $_ = "a" x 20;
    /(?:a(?{ $x += key(1) }))*/;
    return $x;
}

package Tied {
    sub TIESCALAR { return bless [], shift }
    sub FETCH { return main::spin(300) }
}

package Number {
    use overload '+' => \&add;
    sub new { return bless [], shift }
    sub add { return main::spin(300) }
}

package Guard {
    sub new { return bless [], shift }
    sub DESTROY { main::spin(300); return }
}

package main;

sub by_tie {
    tie my $x, 'Tied';
    my $y = $x;
    return $y;
}

sub by_operator { return Number->new + 1 }
sub by_destroy { { my $guard = Guard->new } return }

sub by_closure {
    my ($n) = @_;
    my $closure = sub { return spin($n) };
    return $closure->();
}

sub on_signal { spin(300); return }

sub by_signal {
    local $SIG{USR1} = \&on_signal;
    kill USR1 => $$;
    return spin(10);
}

my @spent = (0, 0, 0);

my ($seconds, $is_threaded) = @ARGV;

sub run {
    my ($end) = @_;
    while (clock_gettime(CLOCK_PROCESS_CPUTIME_ID) < $end) {
        for (1 .. 5) {
            my $start = clock_gettime(CLOCK_THREAD_CPUTIME_ID);
            heavy();
            my $then = clock_gettime(CLOCK_THREAD_CPUTIME_ID);
            medium();
            my $later = clock_gettime(CLOCK_THREAD_CPUTIME_ID);
            light();
            $spent[0] += $then - $start;
            $spent[1] += $later - $then;
            $spent[2] += clock_gettime(CLOCK_THREAD_CPUTIME_ID) - $later;
        }
        my @sorted;
        recurse(40);
        @sorted = by_sort();
        @sorted = by_block();
        @sorted = by_last();
        @sorted = by_sort_eval();
        by_first();
        by_reduce();
        by_eval();
        by_text();
        by_regex();
        by_tie();
        by_operator();
        by_destroy();
        by_closure(300);
        by_signal() unless $is_threaded;
    }
    return;
}

sub run_in_thread { return run(@_) }

if ($is_threaded) {
    require threads;
    my $thread = threads->create(\&run_in_thread, $seconds);
    run($seconds);
    $thread->join;
} else {
    run($seconds);
}
my $all = $spent[0] + $spent[1] + $spent[2];
print join(' ', map { 100 * $_ / $all } @spent), "\n";
