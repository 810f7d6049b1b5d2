/* The statuses that core calls return. One table generates the constants, the wire names and the
 * sentences. */
#ifndef OBB_STATUS_H
#define OBB_STATUS_H

#define OBB_STATUS_TABLE(X)                                                                     \
    X(OBB_OK, "ok", "success")                                                                  \
    X(OBB_NO_MEMORY, "no-memory", "there is not enough memory for this request")                \
    X(OBB_CANCELLED, "cancelled", "the work was cancelled before it was done")                  \
    X(OBB_BAD_NUMBER, "bad-number", "a number is not finite or out of range")                   \
    X(OBB_BAD_EXTENT, "bad-extent", "a half extent, radius or distance is negative")            \
    X(OBB_BAD_ROTATION, "bad-rotation", "a rotation has no length")                             \
    X(OBB_NOT_ORTHONORMAL, "not-orthonormal", "the axes are not orthonormal within 1e-6")       \
    X(OBB_SHEARED, "sheared", "the matrix shears the box by more than 1e-6")                    \
    X(OBB_SINGULAR, "singular", "the matrix cannot be inverted")                                \
    X(OBB_NOT_A_BOX, "not-a-box", "the corners do not form a box within 1e-6 of its size")      \
    X(OBB_BAD_COUNT, "bad-count", "there are too few or too many elements")                     \
    X(OBB_BAD_NAME, "bad-name", "a name is 1 to 128 bytes, no control characters, not . or ..") \
    X(OBB_BAD_VALUE, "bad-value", "the value is not allowed here")                              \
    X(OBB_NO_SCENE, "no-scene", "there is no scene of this name")                               \
    X(OBB_NO_BOX, "no-box", "there is no box of this name")                                     \
    X(OBB_NO_FRAME, "no-frame", "there is no frame of this name")                               \
    X(OBB_FRAMED, "framed", "the box stands in a frame")                                        \
    X(OBB_DIMENSIONS, "dimensions", "the scene has other dimensions")                           \
    X(OBB_TIME_BACKWARDS, "time-backwards", "the time lies before the scene's last commit")     \
    X(OBB_GONE, "gone", "the state asked for lies outside the kept history")                    \
    X(OBB_REVISION, "revision", "the scene is not at the expected revision")                    \
    X(OBB_LIMIT, "limit", "a limit of this service would be exceeded")                          \
    X(OBB_SCENE_MEMORY, "scene-memory", "the memory for scenes is used up")

typedef enum obb_status {
#define OBB_STATUS_ENUM(id, name, sentence) id,
    OBB_STATUS_TABLE(OBB_STATUS_ENUM)
#undef OBB_STATUS_ENUM
} obb_status;

/* Return the wire name of a status ("bad-extent") and its sentence for people; never NULL. */
const char *obb_status_name(obb_status status);
const char *obb_status_sentence(obb_status status);

#endif
