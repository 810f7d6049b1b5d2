using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Reflection;
using System.Text.RegularExpressions;
using UnityEngine;

/// <summary>
/// A scene file of Unity, loaded into the stubs: objects with their parents and places, and those of their components that are
/// scripts, with their fields. Parents and what a field names must stand before.
/// </summary>
sealed class UnityScene
{
    readonly Dictionary<string, GameObject> objects = new Dictionary<string, GameObject>(); // by the id of the Transform, too
    readonly Dictionary<string, MonoBehaviour> scripts = new Dictionary<string, MonoBehaviour>();

    internal int Scripts { get { return scripts.Count; } }

    /// <summary>classOf: the class of a script, by the guid of its file. set: called before a script wakes up.</summary>
    internal UnityScene(string text, Func<string, Type> classOf, Action<MonoBehaviour> set)
    {
        var parts = Regex.Matches(text, @"^--- !u!(\d+) &(\d+)\n\w+:\n((?:  .*\n)*)", RegexOptions.Multiline);
        var names = new Dictionary<string, string>();
        foreach (Match part in parts)
            if (part.Groups[1].Value == "1")
                names[part.Groups[2].Value] = Field(part.Groups[3].Value, "m_Name");
        foreach (Match part in parts)
        {
            string kind = part.Groups[1].Value, id = part.Groups[2].Value, body = part.Groups[3].Value;
            if (kind == "4")
                Place(id, body, names);
            else if (kind == "114")
                Add(id, body, classOf(Regex.Match(body, @"guid: (\w{32})").Groups[1].Value), set);
        }
    }

    internal T Find<T>() where T : MonoBehaviour
    {
        foreach (MonoBehaviour script in scripts.Values)
            if (script is T)
                return (T)script;
        return null;
    }

    /// <summary>Sends a message to all scripts, by their execution order; of the same order, the last of the file comes first.</summary>
    internal void Send(string message)
    {
        var all = new List<MonoBehaviour>(scripts.Values);
        all.Reverse();
        foreach (MonoBehaviour script in all.OrderBy(Order))
            script.Send(message);
    }

    static int Order(MonoBehaviour script)
    {
        var order = (DefaultExecutionOrder)Attribute.GetCustomAttribute(script.GetType(), typeof(DefaultExecutionOrder));
        return order == null ? 0 : order.order;
    }

    void Place(string id, string body, Dictionary<string, string> names)
    {
        string father = Id(Field(body, "m_Father")), own = Id(Field(body, "m_GameObject"));
        var made = new GameObject(names[own], father == "0" ? null : objects[father]);
        made.transform.position = (Vector3)Value(Field(body, "m_LocalPosition"), typeof(Vector3)); // no parent is moved
        objects[id] = objects[own] = made;
    }

    void Add(string id, string body, Type type, Action<MonoBehaviour> set)
    {
        Action<MonoBehaviour> fill = script =>
        {
            foreach (Match line in Regex.Matches(body, @"^  (?!m_)(\w+): ?(.*)$", RegexOptions.Multiline))
            {
                FieldInfo field = type.GetField(line.Groups[1].Value);
                if (field == null)
                    throw new MissingFieldException(type.Name, line.Groups[1].Value);
                field.SetValue(script, Value(line.Groups[2].Value, field.FieldType));
            }
            set(script);
        };
        GameObject owner = objects[Id(Field(body, "m_GameObject"))];
        scripts[id] = (MonoBehaviour)typeof(UnityScene).GetMethod("Attach", BindingFlags.Static | BindingFlags.NonPublic)
            .MakeGenericMethod(type).Invoke(null, new object[] { owner, fill });
    }

    static MonoBehaviour Attach<T>(GameObject owner, Action<MonoBehaviour> fill) where T : MonoBehaviour, new()
    {
        return owner.AddComponent<T>(script => fill(script));
    }

    object Value(string text, Type type)
    {
        if (type == typeof(string))
            return text;
        if (type == typeof(bool))
            return text == "1";
        if (typeof(MonoBehaviour).IsAssignableFrom(type))
            return scripts[Id(text)];
        if (type != typeof(Vector3))
            return Convert.ChangeType(text, type, CultureInfo.InvariantCulture);
        Match v = Regex.Match(text, @"^\{x: (\S+), y: (\S+), z: (\S+)\}$");
        Func<int, float> number = i => float.Parse(v.Groups[i].Value, CultureInfo.InvariantCulture);
        return new Vector3(number(1), number(2), number(3));
    }

    static string Field(string body, string name)
    {
        return Regex.Match(body, "^  " + name + ": ?(.*)$", RegexOptions.Multiline).Groups[1].Value;
    }

    static string Id(string reference)
    {
        return Regex.Match(reference, @"^\{fileID: (\d+)\}$").Groups[1].Value;
    }
}
