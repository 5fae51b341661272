/*
 * priority_classes - creates the two priority classes that every cluster has, at each start.
 */
#ifndef SERVER_STARTUP_PRIORITY_CLASSES_H
#define SERVER_STARTUP_PRIORITY_CLASSES_H

struct ensure;

/* Creates the missing ones. On the state's loop. */
void priority_classes_ensure(struct ensure *e);

#endif
