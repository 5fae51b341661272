/* describe_container - containers in the description of a pod. */
#ifndef CLI_DESCRIBE_CONTAINER_H
#define CLI_DESCRIBE_CONTAINER_H

#include "cli/describe/describe.h"

/* Prints one list of the spec, with its statuses; prints nothing if it is empty. */
void describe_containers(struct describe *d, const char *title, const char *list,
			 const char *statuses);

#endif
