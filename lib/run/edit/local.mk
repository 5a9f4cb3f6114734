# Files of the edit room that lib/local.mk does not list.
lib_libpsrkit_objects_la_SOURCES += \
	lib/run/edit/edit_clean.c \
	lib/run/edit/edit_output.c \
	lib/run/edit/edit_output.h \
	lib/run/edit/edit_shift.c \
	lib/run/edit/edit_shift.h
