spin() { i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; }
(spin; spin) &
dd if=/dev/zero of=/dev/null bs=512 count=300000 2>/dev/null &
spin
wait
