// Moves, turns and scales one box or several about a point.
import { Quaternion, Vector3 } from "three";
import { angleOf, type Box, matrixOf, numbers, point, type Pose, tidy, turn } from "./box";
import { boundsOf } from "./instances";

/** What is not named stays as it is, to the bit. */
export interface Change {
    move?: Vector3;
    turn?: Quaternion;
    scale?: Vector3; // along the axes of a box alone; several are scaled by the x of it, or turned boxes would be sheared
}

/** What several boxes are turned and scaled about: the middle of them all; one box: its centre. */
export function middleOf(boxes: Box[]): Vector3 {
    if (boxes.length === 1) return point(boxes[0].center);
    return boundsOf(boxes.map((box) => matrixOf(box).elements)).middle;
}

export function transformed(boxes: Box[], about: Vector3, change: Change): Map<string, Pose> {
    const alone = boxes.length === 1;
    const { move = new Vector3(), turn: by, scale } = change;
    const factors = scale && (alone ? scale : new Vector3(scale.x, scale.x, scale.x));
    return new Map(
        boxes.map((box) => {
            const dimensions = box.center.length;
            const offset = point(box.center).sub(about);
            const stays = change.move === undefined && (alone || (!by && !scale));
            if (by) offset.applyQuaternion(by);
            if (factors && !alone) offset.multiply(factors);
            const pose: Pose = {
                center: stays ? box.center : numbers(offset.add(about).add(move), dimensions).map(tidy),
                half_extents: factors ? box.half_extents.map((half, i) => tidy(half * Math.abs(factors.getComponent(i)))) : box.half_extents,
            };
            const rotation = by && by.clone().multiply(turn(box)).normalize();
            if (box.angle !== undefined) pose.angle = rotation ? angleOf(rotation) : box.angle;
            else pose.rotation = rotation ? rotation.toArray() : box.rotation;
            return [box.name, pose];
        }),
    );
}
