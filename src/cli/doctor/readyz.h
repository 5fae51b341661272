/*
 * doctor_readyz - the text of a part's /readyz?verbose. Pure.
 *
 *	[+]ping ok
 *	[-]kubelet-socket failed: not connected to /var/lib/kubelet/pod-resources/kubelet.sock
 *	readyz check failed
 */
#ifndef CLI_DOCTOR_READYZ_H
#define CLI_DOCTOR_READYZ_H

#include "base/core/str.h"

/* Whether it is such a text: a proxy that cannot reach the pod sends another one. */
bool doctor_readyz_is(struct str text);

/*
 * The first check that failed: its name, and why. False: none failed. A part lists the cause before
 * its effects. Borrows from the text.
 */
bool doctor_readyz_failure(struct str text, struct str *ret_check, struct str *ret_why);

/* Whether a check whose name begins like this passed. */
bool doctor_readyz_passed(struct str text, struct str name);

#endif
