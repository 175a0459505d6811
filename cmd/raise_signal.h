/* Ending by the signal that ended another process: a shell, or a CI service, then knows it was a
 * signal. */
#ifndef EBPROF_RAISE_SIGNAL_H
#define EBPROF_RAISE_SIGNAL_H

/* Dies of the signal, without a core; comes back where it is one that does not kill. */
void raise_signal_by_default(int signal_number);

/* The exit code for a status of wait(2). Dies of its signal. */
int raise_signal_or_exit_code(int wait_status);

#endif
