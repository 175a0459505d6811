import sys, time


def inner(until):
    total = 0
    while time.process_time() < until:
        for i in range(2000):
            total += i * i
    return total


def middle(until):
    return inner(until) + 1


def outer(until):
    return middle(until) + 1


outer(time.process_time() + float(sys.argv[1]))
