/*
 * commands - the rows of devplane's command table.
 *
 * Each is defined in the file of its name; `commands_root` is the program
 * itself, with all the others below it. Subcommands of `driver`, `probe` and `store` have headers
 * of their own.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/command.h"

extern const struct command commands_root;

extern const struct command cmd_apply; /* cmd_apply.c */
extern const struct command cmd_cni; /* cmd_cni.c */
extern const struct command cmd_cel; /* cmd_cel.c */
extern const struct command cmd_codec; /* cmd_codec.c */
extern const struct command cmd_completion; /* cmd_completion.c */
extern const struct command cmd_confine; /* cmd_confine.c */
extern const struct command cmd_controller; /* cmd_controller.c */
extern const struct command cmd_delete; /* cmd_delete.c */
extern const struct command cmd_demo; /* cmd_demo.c */
extern const struct command cmd_describe; /* cmd_describe.c */
extern const struct command cmd_diff; /* cmd_diff.c */
extern const struct command cmd_doctor; /* cmd_doctor.c */
extern const struct command cmd_down; /* cmd_down.c */
extern const struct command cmd_driver; /* cmd_driver.c */
extern const struct command cmd_explain_fit; /* cmd_explain_fit.c */
extern const struct command cmd_get; /* cmd_get.c */
extern const struct command cmd_help; /* cmd_help.c */
extern const struct command cmd_logs; /* cmd_logs.c */
extern const struct command cmd_man; /* cmd_man.c */
extern const struct command cmd_node; /* cmd_node.c */
extern const struct command cmd_page; /* cmd_page.c */
extern const struct command cmd_podresources; /* cmd_podresources.c */
extern const struct command cmd_podresources_watch; /* cmd_podresources_watch.c */
extern const struct command cmd_probe; /* cmd_probe.c */
extern const struct command cmd_scheduler; /* cmd_scheduler.c */
extern const struct command cmd_server; /* cmd_server.c */
extern const struct command cmd_status; /* cmd_status.c */
extern const struct command cmd_store; /* cmd_store.c */
extern const struct command cmd_top; /* cmd_top.c */
extern const struct command cmd_up; /* cmd_up.c */
extern const struct command cmd_version; /* cmd_version.c */
extern const struct command cmd_watch; /* cmd_watch.c */

#endif
