#ifndef DROVER_STATE_H
#define DROVER_STATE_H
#include "drover_rust.h"
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* State of this process that several files share. A field's comment ends with the files that write it. */
struct drv_here {
  /* What it is. */
  int is_ours;   /* a worker or a zygote, and not somebody's session: drv_here_is_ours() */
  int is_forked; /* a fork of another one, and so without the threads of packages: the same */
  int is_stray;  /* a fork that a handler has made (parallel::mcfork), and not a worker: intercept.c */
  int control;   /* the descriptor of a worker's control channel, or -1: process.c, zygote.c */
  int is_asked;  /* the server wants this worker to end, and waits for nothing that it has: process.c */
  void (*at_end)(void); /* NULL, or what is to be done before R ends: zygote.c */

  /* What it serves: serving.c. */
  drv_link *link; /* requests come from here; NULL while none are served */
  uint32_t max_json_depth;
  size_t max_collisions;

  /* What it does. */
  int guarded;  /* depth of drv_worker_guarded(): worker.c */
  int is_idle;  /* the loop has been called from R's prompt, which waits beneath: worker.c */
  int stops;    /* nothing new is taken: worker.c, session.c, streams.c */
  int awaiting; /* requests whose handlers have returned a promise that is still open: worker.c */
  int callbacks_left; /* those of 'later' that are due had their time, and more are due: worker.c */
  int unseen;   /* the last handlers were too quick to look at what they left: after_handler.c, worker.c */
  volatile sig_atomic_t in_handler; /* of a request, or of a WebSocket's event: worker.c */
  volatile sig_atomic_t asks; /* the handler has asked at the console, so somebody is looking at it: intercept.c */
  int forgets;     /* R's reader is to find nothing: after_handler.c */
  uint32_t stream; /* the number of the stream whose generator runs, or 0: streams.c */
  atomic_int polls; /* the main thread sleeps in poll(), so 'later' need not call it: session.c, worker.c and others */
};
extern struct drv_here drv_here;

/* A worker or a zygote from now on. `forked`: of another process. */
void drv_here_is_ours(int forked);
/* Whether a handler runs, or the generator of a stream; whether this process serves requests or callbacks, and is not a
 * fork of the one that does. */
int drv_here_in_handler(void);
int drv_here_is_serving(void);

/* Ends this process, a fork, and nothing else: what R does at its end, and the C library, would be done to its parent's
 * files. */
_Noreturn void drv_here_leave(int status);
/* Kills this process and all that it has started. */
void drv_here_end_group(void);

#endif
