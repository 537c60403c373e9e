#ifndef DROVER_HYGIENE_H
#define DROVER_HYGIENE_H

/* Remembers the state of the session that handlers may change but must not leave changed. */
void drv_hygiene_note(void);
/* Whether a handler left something changed. Cheap: asked after every request. */
int drv_hygiene_is_disturbed(void);

#endif
