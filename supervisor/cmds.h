/*
 * The commands.  Each gets its own words (argv[0] is the command's name) and
 * returns the exit status: 0 fine, 1 a finding or refusal, 2 usage or policy
 * error, 70 breach, 126 and 127 as the shell has them.
 */
#ifndef DW_CMDS_H
#define DW_CMDS_H

#define POLICIES_MAX 16 /* --policy options of one command */

int cmd_run(int argc, char **argv);
int cmd_policy(int argc, char **argv);
int cmd_policy_explain(int argc, char **argv);
int cmd_policy_test(int argc, char **argv);
int cmd_packs(int argc, char **argv);
int cmd_pins(int argc, char **argv);
int cmd_reload(int argc, char **argv);
int cmd_demo(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_version(int argc, char **argv);

enum {
	EXIT_OK = 0,
	EXIT_FINDING = 1,
	EXIT_USAGE = 2,
	EXIT_BREACH = 70,
	EXIT_NOT_RUN = 126,
	EXIT_NOT_FOUND = 127
};

#endif
