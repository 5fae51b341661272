/* describe_container - containers in the description of a pod. */
#ifndef CLI_DESCRIBE_CONTAINER_H
#define CLI_DESCRIBE_CONTAINER_H

#include "cli/describe/describe.h"

/* One list of spec, with its statuses; nothing when it is empty. */
void describe_containers(struct describe *d, const char *title, const char *list,
			 const char *statuses);

#endif
