using UnityEngine;

/// <summary>Runs to and fro along x, before others look where it is.</summary>
[DefaultExecutionOrder(-1)]
public sealed class Runner : MonoBehaviour
{
    [Tooltip("Half the length of the track, and metres a second.")]
    public float reach = 9, speed = 8;

    void FixedUpdate()
    {
        double way = Time.timeAsDouble * speed % (4 * reach);
        transform.position = new Vector3((float)(way < 2 * reach ? way - reach : 3 * reach - way), transform.position.y, transform.position.z);
    }
}
