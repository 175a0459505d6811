#!/bin/sh
# A CPU goes offline for a while, and for so short that nothing sees it; the clock is set back by
# years. What is to be sampled runs on that CPU.
#   change_machine.sh PROGRAMS       folder of shape_fp
cpu=/sys/devices/system/cpu/cpu1/online
taskset 2 "$1/shape_fp" 100
echo 0 >$cpu
sleep 3
echo 1 >$cpu
sleep 2
date -s 2001-02-03 >/dev/null
taskset 2 "$1/shape_fp" 300
echo 0 >$cpu
echo 1 >$cpu
sleep 2
taskset 2 "$1/shape_fp" 300
