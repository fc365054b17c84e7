/*
 * What to call a server that nobody named.
 */
#ifndef DW_NAMES_H
#define DW_NAMES_H

/*
 * From its command: the package of npx, bunx, uvx, pipx; the script or
 * module of node, python, deno, bun, ruby, sh; the image of docker or podman;
 * else the base name of argv[0].  Versions are left out.  Caller frees.
 */
char *name_of_command(char *const *argv);

#endif
