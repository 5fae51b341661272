/*
 * priority_classes - the two that every cluster has, made sure of at each start.
 */
#ifndef SERVER_STARTUP_PRIORITY_CLASSES_H
#define SERVER_STARTUP_PRIORITY_CLASSES_H

struct ensure;

/* Creates what is missing. On the state's loop. */
void priority_classes_ensure(struct ensure *e);

#endif
