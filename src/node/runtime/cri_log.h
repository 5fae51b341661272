/*
 * cri_log - reads a container's termination message, or the end of its log.
 */
#ifndef NODE_RUNTIME_CRI_LOG_H
#define NODE_RUNTIME_CRI_LOG_H

#include "base/core/arena.h"
#include "cri.pb-c.h"

/* Annotations of containers, with kubelet's keys. */
#define CRI_ANNOTATION_HASH               "io.kubernetes.container.hash"
#define CRI_ANNOTATION_RESTARTS           "io.kubernetes.container.restartCount"
#define CRI_ANNOTATION_TERMINATION_PATH   "io.kubernetes.container.terminationMessagePath"
#define CRI_ANNOTATION_TERMINATION_POLICY "io.kubernetes.container.terminationMessagePolicy"
#define CRI_ANNOTATION_PRE_STOP           "io.kubernetes.container.preStopHandler"
#define CRI_ANNOTATION_PORTS              "io.kubernetes.container.ports"
#define CRI_ANNOTATION_DELETION_GRACE     "io.kubernetes.pod.deletionGracePeriod"
#define CRI_ANNOTATION_TERMINATION_GRACE  "io.kubernetes.pod.terminationGracePeriod"

/*
 * The message of an exited container: the runtime's own, then the content of its termination
 * message file, whose host path is in its mounts. With policy FallbackToLogsOnError, if the
 * container failed and the file is empty, the last lines of its log are used. UTF-8, in `a`.
 */
struct str cri_log_termination(const Cri__ContainerStatus *st, struct arena *a);

/*
 * The text of the last lines of a log in CRI's format ("TIME STREAM P|F TEXT"): at most
 * TERMINATION_LOG_LINES_MAX lines and TERMINATION_LOG_MAX bytes.
 */
struct str cri_log_tail(struct str log, struct arena *a);

#endif
