// As much of UnityEngine as the components of the client use, with objects that a test moves by hand.
using System;
using System.Collections.Generic;
using System.Reflection;
using System.Runtime.InteropServices;

namespace UnityEngine
{
    [AttributeUsage(AttributeTargets.Class)]
    public sealed class AddComponentMenu : Attribute
    {
        public AddComponentMenu(string menu)
        {
        }
    }

    [AttributeUsage(AttributeTargets.Class)]
    public sealed class DefaultExecutionOrder : Attribute
    {
        public readonly int order;

        public DefaultExecutionOrder(int order)
        {
            this.order = order;
        }
    }

    [AttributeUsage(AttributeTargets.Field)]
    public sealed class TooltipAttribute : Attribute
    {
        public TooltipAttribute(string text)
        {
        }
    }

    public struct Vector3
    {
        public float x, y, z;

        public Vector3(float x, float y, float z)
        {
            this.x = x;
            this.y = y;
            this.z = z;
        }
    }

    public struct Quaternion
    {
        public float x, y, z, w;

        public static Quaternion identity { get { return new Quaternion { w = 1 }; } }
    }

    public struct Ray
    {
        public Ray(Vector3 origin, Vector3 direction)
        {
            this.origin = origin;
            this.direction = direction;
        }

        public Vector3 origin { get; set; }
        public Vector3 direction { get; set; }
    }

    public static class Debug
    {
        public static int logged;

        public static void Log(object message)
        {
            logged++;
        }
    }

    public static class Time
    {
        public static double timeAsDouble;
    }

    public sealed class Transform
    {
        public Vector3 position;
        public Quaternion rotation = Quaternion.identity;
    }

    public sealed class GameObject
    {
        public readonly string name;
        public readonly Transform transform = new Transform();
        readonly GameObject parent;
        readonly List<MonoBehaviour> components = new List<MonoBehaviour>();

        public GameObject(string name, GameObject parent = null)
        {
            this.name = name;
            this.parent = parent;
        }

        /// <summary>
        /// As Unity does it for an object that is active, but after `set`, as if the Inspector had set the fields.
        /// </summary>
        public T AddComponent<T>(Action<T> set = null) where T : MonoBehaviour, new()
        {
            var component = new T { gameObject = this };
            components.Add(component);
            if (set != null)
                set(component);
            component.Send("Awake");
            component.Send("OnEnable");
            return component;
        }

        internal T Find<T>() where T : MonoBehaviour
        {
            return components.Find(component => component is T) as T ?? (parent == null ? null : parent.Find<T>());
        }
    }

    public class MonoBehaviour
    {
        public GameObject gameObject { get; internal set; }
        public Transform transform { get { return gameObject.transform; } }
        public string name { get { return gameObject.name; } }

        public T GetComponentInParent<T>() where T : MonoBehaviour
        {
            return gameObject.Find<T>();
        }

        /// <summary>Calls a message of Unity, if the component has it.</summary>
        public void Send(string message)
        {
            MethodInfo method = GetType().GetMethod(message, BindingFlags.Instance | BindingFlags.NonPublic | BindingFlags.Public);
            if (method != null)
                ((Action)Delegate.CreateDelegate(typeof(Action), this, method))();
        }
    }
}

namespace Unity.Collections
{
    public struct NativeArray<T> where T : struct
    {
        internal IntPtr Memory;

        public NativeArray(T[] from)
        {
            Memory = GCHandle.Alloc(from, GCHandleType.Pinned).AddrOfPinnedObject();
        }
    }
}

namespace Unity.Collections.LowLevel.Unsafe
{
    public static class NativeArrayUnsafeUtility
    {
        public static unsafe void* GetUnsafeReadOnlyPtr<T>(this NativeArray<T> array) where T : struct
        {
            return (void*)array.Memory;
        }
    }
}
