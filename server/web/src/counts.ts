// How many there are, in words: 1 box, 100,200 boxes.

const ENGLISH = new Intl.NumberFormat("en"); // the page speaks English

export const grouped = (number: number): string => ENGLISH.format(number);

export const boxCount = (number: number): string => `${grouped(number)} ${number === 1 ? "box" : "boxes"}`;
