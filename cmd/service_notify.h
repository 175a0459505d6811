/*
 * Tells a service manager how it goes, by the protocol of sd_notify(3): datagrams to the socket
 * that NOTIFY_SOCKET names. Without one nothing is sent.
 */
#ifndef EBPROF_SERVICE_NOTIFY_H
#define EBPROF_SERVICE_NOTIFY_H

#include <stdint.h>

struct service_notify {
	int fd; /* -1: nobody listens */
	uint64_t watchdog_ns;
	uint64_t sent_ns; /* that it is alive, the last time */
};

/* Takes the variables out of the environment: what is started from here is not the service. */
void service_notify_open(struct service_notify *ret);
void service_notify_close(struct service_notify *notify);

void service_notify_ready(const struct service_notify *notify, const char *status);
void service_notify_reloaded(const struct service_notify *notify);
void service_notify_stopping(const struct service_notify *notify);
/* The main loop went round: the service manager is notified of it four times in the watchdog's
 * time. */
void service_notify_alive(struct service_notify *notify);

#endif
