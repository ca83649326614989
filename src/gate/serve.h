/* Inside gate/: the loop. The listeners come through the door, are served, and all ends when the
 * supervisor says so or is gone. */
#ifndef LNK_GATE_SERVE_H
#define LNK_GATE_SERVE_H

#include "gate/gate.h"
#include "gate/publish.h"

/* Waits for the listeners, answers DOOR_READY, serves calls, look-ups and published ports until
 * CONTROL_END (the report is sent then) or until the control socket is closed. `gate` is complete
 * but for the resolver. In jail already. False: err says what failed; true: it is all over, and
 * nothing but exiting is left to do. */
bool serve(struct gate *gate, struct publish *publish, struct err *err);

#endif
