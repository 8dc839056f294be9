import React from 'react'
import { x } from "./x"
const fs = require('fs')
export default function View(props: Props) {
  const inner = (a) => a + 1
  return null
}
export interface Props { a: number }
type Local = string
export const load = async (id: string) => { return fetch(id) }
class Panel extends React.Component {}
