/*
 * doctor_sockets - asks pods of deploy/ for their /readyz, through the API server's pod proxy.
 *
 * A pod of `attach` says whether it reaches the kubelet's PodResources socket and the folder of DRA
 * drivers, a driver whether the kubelet has registered it. Pods with the same failing check share
 * one finding. At most SOCKETS_PODS_MAX pods are asked, one after the other.
 */
#ifndef CLI_DOCTOR_SOCKETS_H
#define CLI_DOCTOR_SOCKETS_H

#include "cli/doctor/doctor.h"

enum { SOCKETS_PODS_MAX = 20, SOCKETS_FAULTS_MAX = 8 };

/* A check that fails. Texts live as long as the doctor's arena. */
struct socket_fault {
	struct str check, why, pod, node; /* the first pod that has it */
	size_t n; /* pods that have it */
};

/* Set the first members, and zero the others. */
struct sockets {
	struct doctor *doctor;
	struct kube *kube;
	struct str part, ns;

	size_t asked, left_out;
	size_t silent; /* asked, of a version that does not say how its sockets are */
	size_t unreached; /* asked, without a reply */
	struct str unreached_pod;
	struct error why; /* of the first of these */
	size_t nfaults;
	struct socket_fault faults[SOCKETS_FAULTS_MAX];
};

/* Whether pods of this part use sockets of their node. */
bool sockets_has(struct str part);

/*
 * Asks the pod if its program runs. Returns true if it named a check that fails. A pod beyond the
 * limit counts as left out, and returns true.
 */
bool sockets_ask(struct sockets *s, const struct json *pod);

/* One failed finding per fault. `counts`: such as "2 of 3 pods are ready". */
void sockets_say_unready(struct sockets *s, const char *subject, const char *counts);

/* What was learned about ready pods. */
void sockets_say(struct sockets *s);

#endif
