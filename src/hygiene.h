#ifndef DROVER_HYGIENE_H
#define DROVER_HYGIENE_H

/* Remembers the state of the session that handlers may change but must not leave changed. */
void drv_hygiene_note(void);
/* Whether a handler left something changed: in full, for a microsecond or two, and for next to nothing only what
 * changes how errors and warnings of the next handler end. */
int drv_hygiene_is_disturbed(void);
int drv_hygiene_options_changed(void);

#endif
